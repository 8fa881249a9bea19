-- expand
ALTER TABLE "notifications" ADD COLUMN "inbox" boolean DEFAULT true NOT NULL;
ALTER TABLE "notifications" ADD COLUMN "mail" text;
CREATE INDEX "notifications_mail" ON "notifications" USING btree ("user_id","created_at") WHERE "notifications"."mail" is not null;
