CREATE TABLE `moved` (
	`tenant_id` text PRIMARY KEY NOT NULL,
	`since` integer NOT NULL,
	`until` integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE `tenant` ADD `history` text;