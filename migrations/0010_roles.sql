ALTER TABLE `api_key` ADD `role` text;--> statement-breakpoint
ALTER TABLE `login` ADD `role` text;