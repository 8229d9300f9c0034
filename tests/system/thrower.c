/* SPDX-License-Identifier: Apache-2.0 */
/* A program in C, without any of C++'s libraries, that opens the plugin named on its command line and calls it. */
#include <dlfcn.h>
#include <stdio.h>

static void through(void (*call)(void *), void *arg) {
    call(arg);
    puts("not reached");
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        void *handle = dlopen(argv[i], RTLD_NOW);
        int (*plugin)(void (*)(void (*)(void *), void *)) =
            handle ? (int (*)(void (*)(void (*)(void *), void *)))dlsym(handle, "plugin") : NULL;
        if (!plugin) {
            puts(dlerror());
            return 2;
        }
        printf("plugin: %d\n", plugin(through));
        dlclose(handle);
    }
    return 0;
}
