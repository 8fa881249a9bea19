ALTER TABLE "sessions" ADD COLUMN "credential_id" uuid;
