ALTER TABLE "integrations" ADD COLUMN "last_delivered_at" timestamp(3) with time zone;
ALTER TABLE "integrations" ADD COLUMN "last_error" text;
