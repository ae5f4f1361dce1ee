/* SPDX-License-Identifier: MIT */
#include "observed.h"

struct observed observed_;
