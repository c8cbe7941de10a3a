"""A server of the Model Context Protocol with a few pages, for sources of kind mcp."""

from mcp.server import MCPServer
from mcp.server.mcpserver.resources import BinaryResource, TextResource

server = MCPServer("pages")
for name, title, text in (
    ("returns", "Returns", "# Returns\n\nA tool that comes back late costs two euros a day."),
    ("deposits", "Deposits", "# Deposits\n\nThe deposit is refunded when the tool is clean."),
):
    server.add_resource(
        TextResource(uri=f"wiki://pages/{name}", name=title, text=text, mime_type="text/markdown")
    )
server.add_resource(
    BinaryResource(
        uri="wiki://files/notice.txt",
        name="Notice",
        data="Closed on Mondays: für immer.".encode("latin-1"),
        mime_type="text/plain; charset=latin-1",
    )
)
server.add_resource(
    BinaryResource(
        uri="wiki://files/logo.png",
        name="Logo",
        data=b"\x89PNG\r\n\x1a\n\0\0",
        mime_type="image/png",
    )
)

if __name__ == "__main__":
    server.run()
