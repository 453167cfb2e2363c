// Lets each client through a few times per second: `window <names`, one name a line.
#include <guira.hpp>

#include <iostream>

int main() {
    using namespace std::chrono_literals;
    try {
        guira::filter recent(guira::expiring(1s, 100'000));
        std::string name;
        while (std::getline(std::cin, name)) {
            recent.tick();
            const bool allowed = recent.count(name) < 3;
            if (allowed) recent.add(name);
            std::cout << (allowed ? "allow " : "deny ") << name << '\n';
        }
    } catch (const guira::error &error) {
        std::cerr << "window: " << error.what() << '\n';
        return 1;
    }
}
