CREATE TABLE "device_codes" (
	"id" uuid PRIMARY KEY NOT NULL,
	"device_hash" text NOT NULL,
	"user_hash" text NOT NULL,
	"client_name" text NOT NULL,
	"user_agent" text,
	"ip" text,
	"status" text NOT NULL,
	"claimed_by_id" uuid,
	"interval" integer NOT NULL,
	"last_poll_at" timestamp(3) with time zone,
	"created_at" timestamp(3) with time zone NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL
);

CREATE TABLE "invites" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"organization_id" uuid NOT NULL,
	"email" text NOT NULL,
	"role" text NOT NULL,
	"hash" text NOT NULL,
	"invited_by_id" uuid,
	"expires_at" timestamp(3) with time zone NOT NULL,
	"accepted_at" timestamp(3) with time zone,
	"closed_at" timestamp(3) with time zone
);

CREATE TABLE "feature_dependencies" (
	"feature_id" uuid NOT NULL,
	"blocked_by_id" uuid NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "feature_dependencies_feature_id_blocked_by_id_pk" PRIMARY KEY("feature_id","blocked_by_id")
);

CREATE TABLE "feature_evidence" (
	"id" uuid PRIMARY KEY NOT NULL,
	"feature_id" uuid NOT NULL,
	"gate" text NOT NULL,
	"level" text NOT NULL,
	"evidence" jsonb NOT NULL,
	"actor_type" text NOT NULL,
	"actor_id" uuid,
	"actor_name" text NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL
);

CREATE TABLE "feature_reviews" (
	"id" uuid PRIMARY KEY NOT NULL,
	"feature_id" uuid NOT NULL,
	"verdict" text NOT NULL,
	"comment" text,
	"actor_type" text NOT NULL,
	"actor_id" uuid,
	"actor_name" text NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL
);

CREATE TABLE "features" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"organization_id" uuid NOT NULL,
	"project_id" uuid NOT NULL,
	"created_by_id" uuid,
	"title" text NOT NULL,
	"description" text,
	"kind" text NOT NULL,
	"priority" text NOT NULL,
	"status" text NOT NULL,
	"assignee_type" text,
	"assignee_id" uuid,
	"task_ids" jsonb NOT NULL,
	"spec_id" uuid,
	"position" double precision NOT NULL,
	"search" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('simple', translate(left(coalesce("title", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'A') || setweight(to_tsvector('simple', translate(left(coalesce("description", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'B')) STORED
);

CREATE TABLE "integrations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"user_id" uuid NOT NULL,
	"provider" text NOT NULL,
	"settings" jsonb NOT NULL,
	"sealed" text NOT NULL,
	"last4" text NOT NULL
);

CREATE TABLE "uploads" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid,
	"organization_id" uuid,
	"purpose" text NOT NULL,
	"type" text NOT NULL,
	"width" integer NOT NULL,
	"height" integer NOT NULL,
	"bytes" "bytea" NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL
);

CREATE TABLE "announcements" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"sent_by_id" uuid,
	"type" text NOT NULL,
	"title" text NOT NULL,
	"message" text,
	"link" text,
	"audience" jsonb NOT NULL,
	"recipients" integer NOT NULL
);

CREATE TABLE "notifications" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"user_id" uuid NOT NULL,
	"type" text NOT NULL,
	"reason" text NOT NULL,
	"title" text NOT NULL,
	"message" text,
	"link" text,
	"read_at" timestamp(3) with time zone,
	"announcement_id" uuid
);

CREATE TABLE "mails" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"recipient" text NOT NULL,
	"kind" text NOT NULL,
	"subject" text NOT NULL,
	"sealed" text,
	"status" text NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"error" text,
	"sent_at" timestamp(3) with time zone,
	"expires_at" timestamp(3) with time zone NOT NULL
);

CREATE TABLE "passkeys" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"user_id" uuid NOT NULL,
	"name" text NOT NULL,
	"credential_id" text NOT NULL,
	"public_key" text NOT NULL,
	"counter" bigint NOT NULL,
	"transports" text[] NOT NULL,
	"backed_up" boolean NOT NULL,
	"last_used_at" timestamp(3) with time zone
);

CREATE TABLE "issues" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"user_id" uuid NOT NULL,
	"title" text NOT NULL,
	"description" text NOT NULL,
	"priority" text NOT NULL,
	"status" text NOT NULL,
	"answer" text,
	"answered_by_id" uuid,
	"answered_at" timestamp(3) with time zone
);

CREATE TABLE "workspace_teams" (
	"workspace_id" uuid NOT NULL,
	"organization_id" uuid NOT NULL,
	"role" text NOT NULL,
	"added_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "workspace_teams_workspace_id_organization_id_pk" PRIMARY KEY("workspace_id","organization_id")
);

CREATE TABLE "workspaces" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"organization_id" uuid NOT NULL,
	"created_by_id" uuid,
	"name" text NOT NULL,
	"description" text,
	"folders" text[] NOT NULL,
	"status" text DEFAULT 'active' NOT NULL
);

CREATE TABLE "agents" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"organization_id" uuid,
	"created_by_id" uuid,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"role" text,
	"persona" text,
	"system_prompt" text,
	"model" text,
	"provider" text,
	"skills" jsonb NOT NULL,
	"memory_scope" text NOT NULL,
	"scope" text NOT NULL,
	"status" text DEFAULT 'active' NOT NULL,
	"search" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('simple', translate(left(coalesce("name", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'A') || setweight(to_tsvector('simple', translate(left(coalesce("role", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'B') || setweight(to_tsvector('simple', translate(left(coalesce("persona", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'C')) STORED
);

CREATE TABLE "skills" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"organization_id" uuid,
	"created_by_id" uuid,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"description" text,
	"content" text NOT NULL,
	"tags" text[] NOT NULL,
	"scope" text NOT NULL,
	"search" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('simple', translate(left(coalesce("name", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'A') || setweight(to_tsvector('simple', translate(left(coalesce("description", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'B') || setweight(to_tsvector('simple', translate(left(coalesce("content", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'C')) STORED
);

CREATE TABLE "connected_accounts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"user_id" uuid NOT NULL,
	"provider" text NOT NULL,
	"subject" text NOT NULL,
	"email" text,
	"name" text,
	"avatar_url" text,
	"sealed" text
);

CREATE TABLE "one_time_secrets" (
	"id" uuid PRIMARY KEY NOT NULL,
	"purpose" text NOT NULL,
	"subject" text,
	"user_id" uuid,
	"hash" text NOT NULL,
	"bound_to" text,
	"data" jsonb NOT NULL,
	"sealed" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	"used_at" timestamp(3) with time zone
);

ALTER TABLE "counters" ADD COLUMN "blocked_until" timestamp(3) with time zone;
ALTER TABLE "login_sessions" ADD COLUMN "via" text DEFAULT 'password' NOT NULL;
ALTER TABLE "login_sessions" ADD COLUMN "impersonator_id" uuid;
ALTER TABLE "login_sessions" ADD COLUMN "authenticated_at" timestamp(3) with time zone;
ALTER TABLE "login_sessions" ADD COLUMN "device" text;
ALTER TABLE "organizations" ADD COLUMN "plan_status" text DEFAULT 'active' NOT NULL;
ALTER TABLE "device_codes" ADD CONSTRAINT "device_codes_claimed_by_id_users_id_fk" FOREIGN KEY ("claimed_by_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "invites" ADD CONSTRAINT "invites_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "invites" ADD CONSTRAINT "invites_invited_by_id_users_id_fk" FOREIGN KEY ("invited_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "feature_dependencies" ADD CONSTRAINT "feature_dependencies_feature_id_features_id_fk" FOREIGN KEY ("feature_id") REFERENCES "public"."features"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "feature_dependencies" ADD CONSTRAINT "feature_dependencies_blocked_by_id_features_id_fk" FOREIGN KEY ("blocked_by_id") REFERENCES "public"."features"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "feature_evidence" ADD CONSTRAINT "feature_evidence_feature_id_features_id_fk" FOREIGN KEY ("feature_id") REFERENCES "public"."features"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "feature_reviews" ADD CONSTRAINT "feature_reviews_feature_id_features_id_fk" FOREIGN KEY ("feature_id") REFERENCES "public"."features"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "features" ADD CONSTRAINT "features_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "features" ADD CONSTRAINT "features_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "features" ADD CONSTRAINT "features_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "integrations" ADD CONSTRAINT "integrations_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "uploads" ADD CONSTRAINT "uploads_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "uploads" ADD CONSTRAINT "uploads_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "announcements" ADD CONSTRAINT "announcements_sent_by_id_users_id_fk" FOREIGN KEY ("sent_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "notifications" ADD CONSTRAINT "notifications_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "notifications" ADD CONSTRAINT "notifications_announcement_id_announcements_id_fk" FOREIGN KEY ("announcement_id") REFERENCES "public"."announcements"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "passkeys" ADD CONSTRAINT "passkeys_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "issues" ADD CONSTRAINT "issues_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "issues" ADD CONSTRAINT "issues_answered_by_id_users_id_fk" FOREIGN KEY ("answered_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "workspace_teams" ADD CONSTRAINT "workspace_teams_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "workspace_teams" ADD CONSTRAINT "workspace_teams_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "workspaces" ADD CONSTRAINT "workspaces_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "workspaces" ADD CONSTRAINT "workspaces_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "agents" ADD CONSTRAINT "agents_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "agents" ADD CONSTRAINT "agents_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "skills" ADD CONSTRAINT "skills_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "skills" ADD CONSTRAINT "skills_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "connected_accounts" ADD CONSTRAINT "connected_accounts_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
CREATE UNIQUE INDEX "device_codes_device" ON "device_codes" USING btree ("device_hash");
CREATE UNIQUE INDEX "device_codes_user" ON "device_codes" USING btree ("user_hash");
CREATE INDEX "device_codes_expires" ON "device_codes" USING btree ("expires_at");
CREATE UNIQUE INDEX "invites_hash" ON "invites" USING btree ("hash");
CREATE UNIQUE INDEX "invites_open" ON "invites" USING btree ("organization_id",lower("email")) WHERE "invites"."accepted_at" is null and "invites"."closed_at" is null;
CREATE INDEX "invites_email" ON "invites" USING btree (lower("email"));
CREATE INDEX "feature_dependencies_blocker" ON "feature_dependencies" USING btree ("blocked_by_id");
CREATE INDEX "feature_evidence_feature" ON "feature_evidence" USING btree ("feature_id","created_at");
CREATE INDEX "feature_reviews_feature" ON "feature_reviews" USING btree ("feature_id","created_at");
CREATE INDEX "features_project" ON "features" USING btree ("project_id","status","position");
CREATE INDEX "features_organization" ON "features" USING btree ("organization_id","updated_at","id");
CREATE INDEX "features_search" ON "features" USING gin ("search");
CREATE UNIQUE INDEX "integrations_user" ON "integrations" USING btree ("user_id","provider");
CREATE INDEX "uploads_user" ON "uploads" USING btree ("user_id");
CREATE INDEX "uploads_organization" ON "uploads" USING btree ("organization_id");
CREATE INDEX "announcements_created" ON "announcements" USING btree ("created_at","id");
CREATE INDEX "notifications_user" ON "notifications" USING btree ("user_id","created_at","id");
CREATE INDEX "notifications_unread" ON "notifications" USING btree ("user_id") WHERE "notifications"."read_at" is null;
CREATE INDEX "notifications_created" ON "notifications" USING brin ("created_at");
CREATE INDEX "mails_created" ON "mails" USING btree ("created_at","id");
CREATE INDEX "mails_recipient" ON "mails" USING btree ("recipient");
CREATE INDEX "mails_expires" ON "mails" USING btree ("expires_at");
CREATE UNIQUE INDEX "passkeys_credential" ON "passkeys" USING btree ("credential_id");
CREATE INDEX "passkeys_user" ON "passkeys" USING btree ("user_id");
CREATE INDEX "issues_user" ON "issues" USING btree ("user_id","created_at","id");
CREATE INDEX "issues_status" ON "issues" USING btree ("status","created_at","id");
CREATE INDEX "workspace_teams_organization" ON "workspace_teams" USING btree ("organization_id");
CREATE INDEX "workspaces_organization" ON "workspaces" USING btree ("organization_id","updated_at","id");
CREATE UNIQUE INDEX "agents_slug" ON "agents" USING btree ("slug") WHERE "agents"."deleted_at" is null;
CREATE INDEX "agents_organization" ON "agents" USING btree ("organization_id","updated_at","id");
CREATE INDEX "agents_author" ON "agents" USING btree ("created_by_id","updated_at","id");
CREATE INDEX "agents_search" ON "agents" USING gin ("search");
CREATE UNIQUE INDEX "skills_slug" ON "skills" USING btree ("slug") WHERE "skills"."deleted_at" is null;
CREATE INDEX "skills_organization" ON "skills" USING btree ("organization_id","updated_at","id");
CREATE INDEX "skills_author" ON "skills" USING btree ("created_by_id","updated_at","id");
CREATE INDEX "skills_public" ON "skills" USING btree ("updated_at","id") WHERE "skills"."scope" = 'public' and "skills"."deleted_at" is null;
CREATE INDEX "skills_search" ON "skills" USING gin ("search");
CREATE UNIQUE INDEX "connected_accounts_subject" ON "connected_accounts" USING btree ("provider","subject");
CREATE UNIQUE INDEX "connected_accounts_user" ON "connected_accounts" USING btree ("user_id","provider");
CREATE INDEX "one_time_secrets_hash" ON "one_time_secrets" USING btree ("hash");
CREATE INDEX "one_time_secrets_subject" ON "one_time_secrets" USING btree ("purpose","subject");
CREATE INDEX "one_time_secrets_expires" ON "one_time_secrets" USING btree ("expires_at");
ALTER TABLE "projects" ADD CONSTRAINT "projects_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "public"."workspaces"("id") ON DELETE set null ON UPDATE no action;
CREATE INDEX "projects_workspace" ON "projects" USING btree ("workspace_id");
