"""Files that a team already has, read into plain data: timelines, metrics, cloud exports, Terraform."""
