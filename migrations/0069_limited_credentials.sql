-- expand
ALTER TABLE "api_keys" ADD COLUMN "projects" text[];
ALTER TABLE "mcp_tokens" ADD COLUMN "projects" text[];
ALTER TABLE "oauth_grants" ADD COLUMN "projects" text[];
