"""Dashboards and reports, each written from tools/panels/*.sql and the views of schema bi."""
