-- The generator cannot write this expression, so it is written by hand.
-- Of connections with the same address only the oldest one gets mail. The others give up the address.
UPDATE `channel` SET `settings` = json_remove(`settings`, '$.address') WHERE `platform` = 'email' AND EXISTS (
	SELECT 1 FROM `channel` `older` WHERE `older`.`platform` = 'email'
	AND lower(json_extract(`older`.`settings`, '$.address')) = lower(json_extract(`channel`.`settings`, '$.address'))
	AND (`older`.`created_at`, `older`.`id`) < (`channel`.`created_at`, `channel`.`id`)
);--> statement-breakpoint
DROP INDEX `channel_mail`;--> statement-breakpoint
CREATE UNIQUE INDEX `channel_mail` ON `channel` (lower(json_extract(`settings`, '$.address'))) WHERE `platform` = 'email';
