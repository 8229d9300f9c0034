/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that allocate for others, so that bytes belong to those who asked for them.
 *
 * What pprof does with Profile.drop_frames (profile/prune.go, read in the version of Go 1.19): it wraps the expression
 * in ^( )$, takes each function's name up to the first "(" other than "(anonymous namespace)" and "operator()", goes
 * through a stack from the root, passes the frames before the first one that does not match, and at the first match
 * after it cuts off that frame and everything it called. Of inlined functions at one address only the matching ones
 * and those inside them go.
 *
 * So a name here must never call back into the program's own code. That rules out std::vector and the like, which
 * construct elements, std::allocator_traits<A>::construct, and allocate() of traits of an allocator that the program
 * wrote itself. Names may come with template arguments or, from pprof's own demangler, without: then allocator_traits
 * is taken for the standard allocator's.
 */
#ifndef CPROF_PROTO_DROP_FRAMES_H
#define CPROF_PROTO_DROP_FRAMES_H

/* What may stand between < and > of a name, three levels deep: so that it is the container's own allocator that is
 * std::allocator, not that of something inside it. */
#define DROP_ARGUMENTS "[^<>]*(<[^<>]*(<[^<>]*(<[^<>]*>[^<>]*)*>[^<>]*)*>[^<>]*)*"

/* clang-format off */
#define DROP_FRAMES \
    /* C, with glibc's internal names; what sits at the leaf of nearly every stack is malloc itself */ \
    "(__libc_|__)?(malloc|calloc|realloc|reallocarray|memalign|aligned_alloc|posix_memalign|valloc|pvalloc|free|cfree)" \
    /* C++: operator new, new[], delete, delete[], demangled or not */ \
    "|operator (new|delete)(\\[\\])?" \
    "|_Z(n[wa]|d[la])[A-Za-z0-9_]*" \
    /* libstdc++ and libc++ */ \
    "|(std|__gnu_cxx)::(__1::)?(__)?new_allocator(<.*>)?::allocate" \
    "|std::(__1::)?allocator(<.*>)?::allocate(_at_least)?" \
    "|std::(__1::)?allocator_traits(<std::(__1::)?allocator<.*> ?>)?::allocate(_at_least)?" \
    "|std::_(Vector_base|Deque_base|Rb_tree)(<.*, std::allocator<" DROP_ARGUMENTS "> ?>)?" \
        "::_M_(allocate|allocate_map|allocate_node|get_node)" \
    "|std::__cxx11::_List_base(<.*, std::allocator<" DROP_ARGUMENTS "> ?>)?::_M_get_node" \
    "|(void\\* ?)?std::(__1::)?__libcpp_(operator_new|allocate)(<.*>)?" \
    /* Rust, its names in either mangling. A hash table that grows calls the program's hash function on the way */ \
    "|__(rust|rdl|rg)_(alloc|alloc_zeroed|realloc)" \
    "|alloc::alloc::(alloc|alloc_zeroed|realloc|exchange_malloc)" \
    "|<?alloc::alloc::Global(>| as core::alloc::Allocator>)?::.*" \
    "|<?alloc::raw_vec::.*" \
    "|<?alloc::boxed::Box<.*>::(try_)?new_uninit(_in)?" \
    "|hashbrown::raw::alloc::.*" \
    "|<?hashbrown::raw::RawTable(Inner)?(<.*>)?>?" \
        "::(new_uninitialized|(fallible_)?with_capacity(_in)?|prepare_resize)(::<.*>)?"
/* clang-format on */

#endif
