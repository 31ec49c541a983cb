ALTER TABLE `session` ADD `message_count` integer;--> statement-breakpoint
ALTER TABLE `session` ADD `tool_call_count` integer;--> statement-breakpoint
ALTER TABLE `session` ADD `tools` text;--> statement-breakpoint
ALTER TABLE `session` ADD `tags` text;--> statement-breakpoint
ALTER TABLE `session` ADD `line` text;