DROP INDEX "events_xid";
ALTER TABLE "events" DROP COLUMN "xid";
DELETE FROM "meta" WHERE "key" = 'search.cursor';
