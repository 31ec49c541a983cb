ALTER TABLE `session` ADD `project_id` text;--> statement-breakpoint
CREATE INDEX `session_project` ON `session` (`tenant_id`,`project_id`,`active_day`) WHERE project_id IS NOT NULL;