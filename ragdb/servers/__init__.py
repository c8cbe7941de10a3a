"""One corpus whose parts are on several servers: asked at once, merged, and kept in step."""
