# SPDX-License-Identifier: Apache-2.0
# Makes the page of `cprof serve` from that of `cprof flame`: with charts above it, and profiles that are fetched.
#
#     awk -f tools/serve/page.awk tools/flame/page.html

function include(file,    line, rc) {
    while ((rc = (getline line < file)) > 0)
        print line
    if (rc < 0) {
        print file ": not there" > "/dev/stderr"
        failed = 1
        exit 1
    }
    close(file)
}

# Counts that each part of the page which is to be replaced was there once.
function found(what) {
    seen[what]++
}

/img-src data:;/ { found("policy"); sub(/img-src data:;/, "img-src data:; connect-src 'self';") }
/\{\{title\}\}/ { found("title"); sub(/\{\{title\}\}/, "cprof") }
/\{\{profile\}\}/ {
    found("profile")
    print "<script type=\"application/json\" id=\"profile\">"
    include("tools/serve/empty.json")
    print "</script>"
    next
}
/^<header class="bar">/ { found("header"); include("tools/serve/live.html") }
/^@include / {
    include("tools/flame/" $2)
    if ($2 == "style.css") {
        found("style")
        include("tools/serve/live.css")
    }
    if ($2 == "app.js") {
        found("app")
        include("tools/serve/difference.js")
        include("tools/serve/chart.js")
        include("tools/serve/live.js")
    }
    next
}
{ print }

END {
    split("policy title profile header style app", parts)
    for (i in parts)
        if (!failed && seen[parts[i]] != 1) {
            print FILENAME ": " parts[i] " is there " seen[parts[i]] + 0 " times" > "/dev/stderr"
            exit 1
        }
}
