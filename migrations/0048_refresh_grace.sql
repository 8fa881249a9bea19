ALTER TABLE "refresh_tokens" ADD COLUMN "used_again_at" timestamp(3) with time zone;
