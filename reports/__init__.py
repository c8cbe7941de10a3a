"""Reports for psql: `psql -f FILE`. Those of dashboards/ are the same queries."""
