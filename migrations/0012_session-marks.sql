ALTER TABLE `session` ADD `pinned` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `session` ADD `archived` integer DEFAULT false NOT NULL;