ALTER TABLE "notifications" ADD COLUMN "record_kind" text;
ALTER TABLE "notifications" ADD COLUMN "record_id" uuid;
