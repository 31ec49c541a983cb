CREATE TABLE `channel` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`platform` text NOT NULL,
	`name` text NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`webhook_url` text NOT NULL,
	`settings` text NOT NULL,
	`secrets` text NOT NULL,
	`endings` text NOT NULL,
	`account` text
);
--> statement-breakpoint
CREATE INDEX `channel_tenant` ON `channel` (`tenant_id`,`created_at`);