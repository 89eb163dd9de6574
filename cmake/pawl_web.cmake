# SPDX-License-Identifier: Apache-2.0
# The files of web/ as a table in C++, each as it is and compressed by gzip.

# pawl_web_row(rows file name type): appends the row of one file to the variable `rows`. A change of the file configures again.
function(pawl_web_row rows file name type)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} content)
  string(SHA256 digest "${content}")
  string(SUBSTRING ${digest} 0 16 digest)
  set(small ${CMAKE_CURRENT_BINARY_DIR}/web_small.gz)
  file(ARCHIVE_CREATE OUTPUT ${small} PATHS ${file} FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9
       MTIME "2000-01-01 00:00 UTC")
  file(SIZE ${small} size)
  file(READ ${small} bytes HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
  string(APPEND ${rows} "    {\"${name}\", \"${type}\", \"${digest}\",\n     R\"pawl~(${content})pawl~\",\n"
         "     {\"${bytes}\", ${size}}},\n")
  set(${rows} "${${rows}}" PARENT_SCOPE)
endfunction()

# pawl_web_data(folder output): makes `output` from web_data.cc.in, with the pages, styles, scripts and pictures of
# `folder` and the distribution's Chart.js.
function(pawl_web_data folder output)
  find_file(PAWL_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist
            NO_DEFAULT_PATH REQUIRED)
  set(type_html "text/html; charset=utf-8")
  set(type_css "text/css; charset=utf-8")
  set(type_js "text/javascript; charset=utf-8")
  set(type_svg "image/svg+xml")
  set(PAWL_WEB_ROWS "")
  pawl_web_row(PAWL_WEB_ROWS ${PAWL_CHART_JS} chart.js "${type_js}")
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.html ${folder}/*.css ${folder}/*.js ${folder}/*.svg)
  foreach(file ${files})
    cmake_path(GET file FILENAME name)
    cmake_path(GET file EXTENSION LAST_ONLY extension)
    string(SUBSTRING ${extension} 1 -1 extension)
    pawl_web_row(PAWL_WEB_ROWS ${file} ${name} "${type_${extension}}")
  endforeach()
  configure_file(web_data.cc.in ${output} @ONLY)
endfunction()
