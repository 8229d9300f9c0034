/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

void victim_plugin(void);

static void *volatile kept;

__attribute__((noipa)) void victim_plugin(void) {
    for (int i = 0; i < 20; i++)
        kept = malloc(77);
}
