CREATE TABLE "oauth_clients" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"redirect_uris" text[] NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"fresh_until" timestamp(3) with time zone
);

CREATE TABLE "oauth_grants" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"user_id" uuid NOT NULL,
	"organization_id" uuid NOT NULL,
	"client_id" text NOT NULL,
	"client_name" text NOT NULL,
	"client_host" text,
	"agent_id" uuid,
	"project_id" uuid,
	"scopes" text[] NOT NULL,
	"toolsets" text[] NOT NULL,
	"turn" integer DEFAULT 0 NOT NULL,
	"turned_at" timestamp(3) with time zone,
	"idle_until" timestamp(3) with time zone NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	"last_used_at" timestamp(3) with time zone,
	"last_used_ip" text,
	"use_count" integer DEFAULT 0 NOT NULL,
	"revoked_at" timestamp(3) with time zone
);

CREATE TABLE "oauth_refresh_tokens" (
	"hash" text PRIMARY KEY NOT NULL,
	"grant_id" uuid NOT NULL,
	"turn" integer NOT NULL
);

ALTER TABLE "mcp_tokens" ADD COLUMN "grant_id" uuid;
ALTER TABLE "oauth_grants" ADD CONSTRAINT "oauth_grants_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "oauth_grants" ADD CONSTRAINT "oauth_grants_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "oauth_refresh_tokens" ADD CONSTRAINT "oauth_refresh_tokens_grant_id_oauth_grants_id_fk" FOREIGN KEY ("grant_id") REFERENCES "public"."oauth_grants"("id") ON DELETE cascade ON UPDATE no action;
CREATE INDEX "oauth_clients_created" ON "oauth_clients" USING btree ("kind","created_at");
CREATE INDEX "oauth_grants_user" ON "oauth_grants" USING btree ("user_id");
CREATE INDEX "oauth_grants_organization" ON "oauth_grants" USING btree ("organization_id");
CREATE INDEX "oauth_grants_client" ON "oauth_grants" USING btree ("client_id");
CREATE INDEX "oauth_grants_agent" ON "oauth_grants" USING btree ("agent_id");
CREATE INDEX "oauth_refresh_tokens_grant" ON "oauth_refresh_tokens" USING btree ("grant_id");
CREATE INDEX "mcp_tokens_grant" ON "mcp_tokens" USING btree ("grant_id");
