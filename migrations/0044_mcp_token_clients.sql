ALTER TABLE "mcp_tokens" ADD COLUMN "first_used_at" timestamp(3) with time zone;
ALTER TABLE "mcp_tokens" ADD COLUMN "client_name" text;
ALTER TABLE "mcp_tokens" ADD COLUMN "client_version" text;
UPDATE "mcp_tokens" SET "first_used_at" = "last_used_at" WHERE "last_used_at" IS NOT NULL;
