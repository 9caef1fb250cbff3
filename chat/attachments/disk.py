"""The storage of attachments: ATTACHMENTS/<owner>/<name>. No other module opens these files, and no web server does."""

from oneclaw.files.stored import StoredFiles

_files = StoredFiles("ATTACHMENTS")

write, read, size, remove = _files.write, _files.read, _files.size, _files.remove
folder, stored_files = _files.folder, _files.stored
remove_folder = _files.remove_folder
