# find_or_fetch(NAME TARGET URL): uses an installed package, or fetches the pinned source when there is none. The source
# is fetched at configure time and needs a network; distributions should install the package instead.
include(FetchContent)

function(find_or_fetch name target url)
    find_package(${name} QUIET)
    if(TARGET ${target})
        return()
    endif()
    message(STATUS "${name}: no installed package, fetching ${url}")
    FetchContent_Declare(${name} URL ${url} DOWNLOAD_EXTRACT_TIMESTAMP FALSE)
    FetchContent_MakeAvailable(${name})
    if(NOT TARGET ${target})
        message(FATAL_ERROR "${name} was fetched but does not define ${target}; install the package instead")
    endif()
endfunction()
