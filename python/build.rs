//! Passes on how Python was built: `Py_GIL_DISABLED` for interpreters without the GIL.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}
