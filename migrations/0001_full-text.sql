-- Whole words of everything said, stemmed. rowid = page.id, or session.num * 2^20 for the title of a session.
-- `tenant` and `week` hold one token each, so that a query walks the rows of one tenant and one time only.
CREATE VIRTUAL TABLE words USING fts5(tenant, week, text, content='', contentless_delete=1, tokenize='porter unicode61');
--> statement-breakpoint
-- Only the text counts for the rank, not how often a tenant or a week occurs.
INSERT INTO words(words, rank) VALUES('rank', 'bm25(0.0, 0.0, 1.0)');
--> statement-breakpoint
-- Parts of words, for titles and short messages of people: 2.7 times the size of what it indexes. Same rowids.
CREATE VIRTUAL TABLE pieces USING fts5(tenant, title, text, content='', contentless_delete=1, tokenize='trigram remove_diacritics 1');
--> statement-breakpoint
INSERT INTO pieces(pieces, rank) VALUES('rank', 'bm25(0.0, 2.0, 1.0)');
--> statement-breakpoint
-- The tenant of a deployment's owner is always there.
INSERT OR IGNORE INTO tenant(id, name, status, limits, created_at) VALUES('default', 'default', 'active', '{}', unixepoch() * 1000);
