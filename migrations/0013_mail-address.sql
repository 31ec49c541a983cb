-- The generator cannot write this expression, so it is written by hand.
CREATE INDEX `channel_mail` ON `channel` (lower(json_extract(`settings`, '$.address'))) WHERE `platform` = 'email';
