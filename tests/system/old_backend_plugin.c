/* SPDX-License-Identifier: Apache-2.0 */
/* A backend of a version that the library doesn't know. */
#include "preload/backend/backend.h"

extern const struct backend cprof_backend;
const struct backend cprof_backend = {.version = BACKEND_VERSION + 1};
