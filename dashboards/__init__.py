"""Files for Grafana and dbt, for `ragdb dashboards export`."""
