ALTER TABLE "notifications" ADD COLUMN "done_at" timestamp(3) with time zone;
ALTER TABLE "notifications" ADD COLUMN "snoozed_until" timestamp(3) with time zone;
ALTER TABLE "notifications" ADD COLUMN "from_type" text;
ALTER TABLE "notifications" ADD COLUMN "from_id" uuid;
ALTER TABLE "task_comments" ADD COLUMN "asks" boolean DEFAULT false NOT NULL;
-- What was read before counts as done, so that nobody begins with a full list.
UPDATE "notifications" SET "done_at" = "read_at" WHERE "read_at" IS NOT NULL;
CREATE INDEX "notifications_needs" ON "notifications" USING btree ("user_id","created_at","id") WHERE "notifications"."done_at" is null and "notifications"."reason" in ('review', 'assignment', 'mention', 'question', 'stalled', 'decision',
    'invite', 'needs_you');
CREATE INDEX "notifications_record" ON "notifications" USING btree ("record_id") WHERE "notifications"."done_at" is null and "notifications"."record_id" is not null;
