CREATE TABLE `api_key` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`name` text NOT NULL,
	`hash` text NOT NULL,
	`scopes` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`last_used_at` integer,
	`revoked_at` integer
);
--> statement-breakpoint
CREATE INDEX `api_key_tenant` ON `api_key` (`tenant_id`);--> statement-breakpoint
CREATE TABLE `page` (
	`id` integer PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`run_id` text NOT NULL,
	`at` integer NOT NULL,
	`last` integer NOT NULL,
	`size` integer NOT NULL,
	`mark` integer NOT NULL,
	`indexed` integer NOT NULL,
	`model` text,
	`usage` text,
	`turn` text,
	`body` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `session` (
	`num` integer PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`id` text NOT NULL,
	`title` text,
	`source` text NOT NULL,
	`model` text,
	`parent_id` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`active_day` integer NOT NULL,
	`through` integer NOT NULL,
	`usage` text NOT NULL,
	`state` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `session_tenant_id` ON `session` (`tenant_id`,`id`);--> statement-breakpoint
CREATE INDEX `session_active` ON `session` (`tenant_id`,`active_day`);--> statement-breakpoint
CREATE TABLE `tenant` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`status` text NOT NULL,
	`limits` text NOT NULL,
	`created_at` integer NOT NULL
);
