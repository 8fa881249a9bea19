ALTER TABLE "sessions" ADD COLUMN "connection_closed_at" timestamp(3) with time zone;
