# Defines XsimdHeaders::XsimdHeaders: the include folder of xsimd, which is all that is needed of it. Debian's own xsimd
# target also links xtl, a library that no header used here needs and that its package does not bring.
find_path(XsimdHeaders_INCLUDE_DIR xsimd/xsimd.hpp)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(XsimdHeaders REQUIRED_VARS XsimdHeaders_INCLUDE_DIR)
if(XsimdHeaders_FOUND AND NOT TARGET XsimdHeaders::XsimdHeaders)
    add_library(XsimdHeaders::XsimdHeaders INTERFACE IMPORTED)
    set_target_properties(XsimdHeaders::XsimdHeaders PROPERTIES
                          INTERFACE_INCLUDE_DIRECTORIES "${XsimdHeaders_INCLUDE_DIR}")
endif()
mark_as_advanced(XsimdHeaders_INCLUDE_DIR)
