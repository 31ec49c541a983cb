ALTER TABLE `audit` ADD `kind` text DEFAULT 'approval.decided' NOT NULL;--> statement-breakpoint
ALTER TABLE `audit` ADD `actor` text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE INDEX `audit_tenant_kind` ON `audit` (`tenant_id`,`kind`,`at`);--> statement-breakpoint
CREATE INDEX `audit_tenant_actor` ON `audit` (`tenant_id`,`actor`,`at`) WHERE actor <> '';--> statement-breakpoint
-- Until here the log had decisions about tool calls only.
UPDATE `audit` SET `kind` = 'approval.asked' WHERE json_extract(`body`, '$.did') = 'asked';
