// A deny list that all workers of nginx share: a guira filter in a file. README.md is the manual.
//
// The master opens the file before it forks, and each worker uses that handle. A worker that is killed
// loses no entry; its successor repairs what it left.
#include <guira.h>
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

typedef struct {
    ngx_str_t path;
    guira_options options;
    ngx_uint_t processes;
    guira_filter *list;
} deny_main_conf;

typedef struct {
    // The key of a request; null if no request is denied here.
    ngx_http_complex_value_t *key;
} deny_conf;

extern ngx_module_t ngx_http_guira_deny_module;

static const char *reason(guira_status status) {
    return status == GUIRA_STATUS_FULL   ? "the list is full"
           : status == GUIRA_STATUS_BUSY ? "the list is busy"
                                         : guira_last_message();
}

// Requests

static ngx_int_t deny_access(ngx_http_request_t *request) {
    deny_conf *conf = ngx_http_get_module_loc_conf(request, ngx_http_guira_deny_module);
    deny_main_conf *all = ngx_http_get_module_main_conf(request, ngx_http_guira_deny_module);
    ngx_str_t key;
    if (conf->key == NULL || all->list == NULL) return NGX_DECLINED;
    if (ngx_http_complex_value(request, conf->key, &key) != NGX_OK) return NGX_ERROR;
    if (key.len == 0 || !guira_filter_contains(all->list, key.data, key.len)) return NGX_DECLINED;
    ngx_log_error(NGX_LOG_INFO, request->connection->log, 0, "guira: denied \"%V\"", &key);
    return NGX_HTTP_FORBIDDEN;
}

// Adds (POST), removes (DELETE) or looks up (GET) the argument `key`, as it is after decoding.
static ngx_uint_t administer(ngx_http_request_t *request, guira_filter *list) {
    ngx_str_t key;
    if (ngx_http_arg(request, (u_char *)"key", 3, &key) != NGX_OK || key.len == 0) return NGX_HTTP_BAD_REQUEST;
    u_char *decoded = ngx_pnalloc(request->pool, key.len), *end = decoded, *from = key.data;
    if (decoded == NULL) return NGX_HTTP_INTERNAL_SERVER_ERROR;
    ngx_unescape_uri(&end, &from, key.len, 0);
    size_t len = (size_t)(end - decoded);
    if (request->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) {
        return guira_filter_contains(list, decoded, len) ? NGX_HTTP_OK : NGX_HTTP_NOT_FOUND;
    }
    if (request->method == NGX_HTTP_DELETE) {
        return guira_filter_remove(list, decoded, len) ? NGX_HTTP_OK : NGX_HTTP_NOT_FOUND;
    }
    if (request->method != NGX_HTTP_POST) return NGX_HTTP_NOT_ALLOWED;
    // One copy of each entry, so that one removal ends it.
    bool added = false;
    guira_status status = guira_filter_add_unique(list, decoded, len, &added);
    if (status == GUIRA_STATUS_OK) return added ? NGX_HTTP_CREATED : NGX_HTTP_OK;
    ngx_log_error(NGX_LOG_ERR, request->connection->log, 0, "guira: not added: %s", reason(status));
    return status == GUIRA_STATUS_FULL ? NGX_HTTP_INSUFFICIENT_STORAGE : NGX_HTTP_SERVICE_UNAVAILABLE;
}

static ngx_int_t deny_admin(ngx_http_request_t *request) {
    deny_main_conf *all = ngx_http_get_module_main_conf(request, ngx_http_guira_deny_module);
    ngx_int_t discarded = ngx_http_discard_request_body(request);
    if (discarded != NGX_OK) return discarded;
    ngx_uint_t status = administer(request, all->list);
    if (status >= NGX_HTTP_SPECIAL_RESPONSE) return (ngx_int_t)status;

    // The answer names the worker and the number of entries.
    ngx_buf_t *body = ngx_create_temp_buf(request->pool, 2 * NGX_INT64_LEN + 32);
    if (body == NULL) return NGX_HTTP_INTERNAL_SERVER_ERROR;
    body->last = ngx_sprintf(body->last, "worker %P, %uz entries\n", ngx_pid, guira_filter_len(all->list));
    body->last_buf = request == request->main;
    body->last_in_chain = 1;
    ngx_chain_t out = {body, NULL};
    request->headers_out.status = status;
    request->headers_out.content_length_n = body->last - body->pos;
    ngx_str_set(&request->headers_out.content_type, "text/plain");
    ngx_int_t sent = ngx_http_send_header(request);
    if (sent == NGX_ERROR || sent > NGX_OK || request->header_only) return sent;
    return ngx_http_output_filter(request, &out);
}

// Processes

static void close_list(void *data) { guira_filter_free(data); }

// In the master, before it forks; again when the configuration is read again.
static ngx_int_t open_list(ngx_cycle_t *cycle) {
    deny_main_conf *all = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_guira_deny_module);
    if (all == NULL || all->path.len == 0 || ngx_test_config) return NGX_OK;
    guira_status status = guira_filter_open_or_create_shared((const char *)all->path.data, &all->options,
                                                             (uint32_t)all->processes, &all->list, NULL);
    if (status != GUIRA_STATUS_OK) {
        ngx_log_error(NGX_LOG_EMERG, cycle->log, 0, "guira: %s", reason(status));
        return NGX_ERROR;
    }
    ngx_pool_cleanup_t *cleanup = ngx_pool_cleanup_add(cycle->pool, 0);
    if (cleanup == NULL) return NGX_ERROR;
    cleanup->handler = close_list;
    cleanup->data = all->list;

    // Workers open the file again, as their own user, when they take their places.
    ngx_core_conf_t *core = (ngx_core_conf_t *)ngx_get_conf(cycle->conf_ctx, ngx_core_module);
    if (geteuid() == 0 && chown((const char *)all->path.data, core->user, core->group) != 0) {
        ngx_log_error(NGX_LOG_EMERG, cycle->log, ngx_errno, "guira: chown() of \"%V\" failed", &all->path);
        return NGX_ERROR;
    }
    return NGX_OK;
}

// In each worker, also in one that takes the place of a killed one.
static ngx_int_t join_list(ngx_cycle_t *cycle) {
    deny_main_conf *all = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_guira_deny_module);
    size_t dead = 0;
    if (all == NULL || all->list == NULL) return NGX_OK;
    guira_status status = guira_filter_repair(all->list, &dead);
    if (status == GUIRA_STATUS_OK) status = guira_filter_attach(all->list);
    if (status != GUIRA_STATUS_OK) ngx_log_error(NGX_LOG_ERR, cycle->log, 0, "guira: %s", reason(status));
    if (dead > 0) ngx_log_error(NGX_LOG_NOTICE, cycle->log, 0, "guira: repaired %uz dead workers", dead);
    // Without a place a worker can still look up.
    return NGX_OK;
}

// Configuration

static char *set_file(ngx_conf_t *cf, ngx_command_t *command, void *conf) {
    deny_main_conf *all = conf;
    ngx_str_t *words = cf->args->elts;
    (void)command;
    if (all->path.len > 0) return "is duplicate";
    all->path = words[1];
    if (ngx_conf_full_name(cf->cycle, &all->path, 0) != NGX_OK) return NGX_CONF_ERROR;
    for (ngx_uint_t i = 2; i < cf->args->nelts; i++) {
        ngx_str_t word = words[i];
        ngx_int_t number = NGX_ERROR;
        if (ngx_strncmp(word.data, "capacity=", 9) == 0) {
            number = ngx_atoi(word.data + 9, word.len - 9);
            all->options.capacity = (uint64_t)number;
        } else if (ngx_strncmp(word.data, "processes=", 10) == 0) {
            number = ngx_atoi(word.data + 10, word.len - 10);
            all->processes = (ngx_uint_t)number;
        }
        if (number <= 0) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" is neither capacity=N nor processes=N", &word);
            return NGX_CONF_ERROR;
        }
    }
    return NGX_CONF_OK;
}

static char *set_admin(ngx_conf_t *cf, ngx_command_t *command, void *conf) {
    ngx_http_core_loc_conf_t *location = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    (void)command, (void)conf;
    location->handler = deny_admin;
    return NGX_CONF_OK;
}

static void *make_main_conf(ngx_conf_t *cf) {
    deny_main_conf *all = ngx_pcalloc(cf->pool, sizeof *all);
    if (all == NULL) return NULL;
    all->options.size = sizeof all->options;
    all->options.capacity = 100000;
    // One of 10,000 other keys is denied by mistake if the list is full.
    all->options.false_positive_rate = 0.0001;
    return all;
}

static char *check_main_conf(ngx_conf_t *cf, void *conf) {
    deny_main_conf *all = conf;
    (void)cf;
    return all->path.len > 0 ? NGX_CONF_OK : "needs guira_deny_file";
}

static void *make_conf(ngx_conf_t *cf) {
    deny_conf *conf = ngx_pcalloc(cf->pool, sizeof *conf);
    if (conf != NULL) conf->key = NGX_CONF_UNSET_PTR;
    return conf;
}

static char *merge_conf(ngx_conf_t *cf, void *parent, void *child) {
    deny_conf *outer = parent, *inner = child;
    (void)cf;
    ngx_conf_merge_ptr_value(inner->key, outer->key, NULL);
    return NGX_CONF_OK;
}

static ngx_int_t add_handler(ngx_conf_t *cf) {
    ngx_http_core_main_conf_t *core = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);
    ngx_http_handler_pt *handler = ngx_array_push(&core->phases[NGX_HTTP_ACCESS_PHASE].handlers);
    if (handler == NULL) return NGX_ERROR;
    *handler = deny_access;
    return NGX_OK;
}

static ngx_command_t commands[] = {
    {ngx_string("guira_deny_file"), NGX_HTTP_MAIN_CONF | NGX_CONF_1MORE, set_file, NGX_HTTP_MAIN_CONF_OFFSET, 0, NULL},
    {ngx_string("guira_deny"), NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1,
     ngx_http_set_complex_value_slot, NGX_HTTP_LOC_CONF_OFFSET, offsetof(deny_conf, key), NULL},
    {ngx_string("guira_deny_admin"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS, set_admin, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
    ngx_null_command,
};

static ngx_http_module_t context = {
    NULL, add_handler, make_main_conf, check_main_conf, NULL, NULL, make_conf, merge_conf,
};

ngx_module_t ngx_http_guira_deny_module = {
    NGX_MODULE_V1, &context, commands, NGX_HTTP_MODULE, NULL, open_list, join_list,
    NULL, NULL, NULL, NULL, NGX_MODULE_V1_PADDING,
};
