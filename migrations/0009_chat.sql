ALTER TABLE `session` ADD `chat` text;--> statement-breakpoint
UPDATE `session` SET `chat` = json_extract(`state`, '$.origin.connection') || ':' || json_extract(`state`, '$.origin.chat')
  WHERE json_extract(`state`, '$.origin.connection') IS NOT NULL;--> statement-breakpoint
CREATE INDEX `session_chat` ON `session` (`tenant_id`,`chat`) WHERE chat IS NOT NULL;
