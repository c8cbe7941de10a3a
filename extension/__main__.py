from ragdb import extension

extension.path().write_text(extension.script(), "utf-8")
