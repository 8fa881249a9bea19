CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION IF NOT EXISTS pg_trgm;

CREATE TABLE "counters" (
	"key" text PRIMARY KEY NOT NULL,
	"count" integer NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL
);

CREATE TABLE "meta" (
	"key" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);

CREATE TABLE "events" (
	"seq" bigserial PRIMARY KEY NOT NULL,
	"id" uuid NOT NULL,
	"at" timestamp(3) with time zone NOT NULL,
	"type" text NOT NULL,
	"action" text NOT NULL,
	"actor_kind" text NOT NULL,
	"actor_id" uuid,
	"actor_name" text NOT NULL,
	"credential_id" uuid,
	"organization_id" uuid,
	"project_id" uuid,
	"user_id" uuid,
	"subject_id" uuid,
	"data" jsonb NOT NULL,
	"request_id" text NOT NULL,
	"ip" text,
	"origin" uuid NOT NULL,
	"xid" bigint DEFAULT (pg_current_xact_id()::text::bigint) NOT NULL
);

CREATE TABLE "idempotency_keys" (
	"credential_id" uuid NOT NULL,
	"key" text NOT NULL,
	"action" text NOT NULL,
	"fingerprint" text NOT NULL,
	"answer" jsonb,
	"expires_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_credential_id_key_pk" PRIMARY KEY("credential_id","key")
);

CREATE TABLE "login_sessions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"user_agent" text,
	"ip" text,
	"created_at" timestamp(3) with time zone NOT NULL,
	"last_seen_at" timestamp(3) with time zone NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	"revoked_at" timestamp(3) with time zone
);

CREATE TABLE "refresh_tokens" (
	"hash" text PRIMARY KEY NOT NULL,
	"session_id" uuid NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	"used_at" timestamp(3) with time zone
);

CREATE TABLE "users" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"email" text NOT NULL,
	"name" text NOT NULL,
	"handle" text NOT NULL,
	"password_hash" text,
	"avatar_url" text,
	"cover_url" text,
	"bio" text,
	"timezone" text,
	"locale" text,
	"role" text DEFAULT 'user' NOT NULL,
	"status" text DEFAULT 'active' NOT NULL,
	"email_verified_at" timestamp(3) with time zone,
	"onboarded_at" timestamp(3) with time zone,
	"preferences" jsonb NOT NULL
);

CREATE TABLE "api_keys" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"user_id" uuid NOT NULL,
	"name" text NOT NULL,
	"scopes" text[] NOT NULL,
	"prefix" text NOT NULL,
	"last4" text NOT NULL,
	"hash" text NOT NULL,
	"last_used_at" timestamp(3) with time zone,
	"expires_at" timestamp(3) with time zone NOT NULL,
	"revoked_at" timestamp(3) with time zone,
	"organization_id" uuid
);

CREATE TABLE "mcp_tokens" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"user_id" uuid NOT NULL,
	"name" text NOT NULL,
	"scopes" text[] NOT NULL,
	"prefix" text NOT NULL,
	"last4" text NOT NULL,
	"hash" text NOT NULL,
	"last_used_at" timestamp(3) with time zone,
	"expires_at" timestamp(3) with time zone NOT NULL,
	"revoked_at" timestamp(3) with time zone,
	"organization_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"toolsets" text[] NOT NULL,
	"project_id" uuid,
	"last_used_ip" text,
	"use_count" integer DEFAULT 0 NOT NULL
);

CREATE TABLE "memberships" (
	"organization_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"role" text NOT NULL,
	"joined_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "memberships_organization_id_user_id_pk" PRIMARY KEY("organization_id","user_id")
);

CREATE TABLE "organizations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"description" text,
	"avatar_url" text,
	"plan" text DEFAULT 'included' NOT NULL,
	"settings" jsonb NOT NULL,
	"personal" boolean DEFAULT false NOT NULL,
	"sandbox_of" uuid,
	"created_by_id" uuid
);

CREATE TABLE "notes" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"organization_id" uuid,
	"created_by_id" uuid,
	"project_id" uuid,
	"title" text NOT NULL,
	"slug" text NOT NULL,
	"content" text NOT NULL,
	"tags" text[] NOT NULL,
	"links" jsonb NOT NULL,
	"scope" text NOT NULL,
	"pinned" boolean DEFAULT false NOT NULL,
	"mentions" text[] NOT NULL,
	"search" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('simple', translate(left(coalesce("title", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'A') || setweight(to_tsvector('simple', translate(left(coalesce("content", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'B')) STORED
);

CREATE TABLE "projects" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"organization_id" uuid NOT NULL,
	"created_by_id" uuid,
	"workspace_id" uuid,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"key" text NOT NULL,
	"description" text,
	"visibility" text NOT NULL,
	"status" text DEFAULT 'active' NOT NULL,
	"archived_at" timestamp(3) with time zone,
	"last_number" integer DEFAULT 0 NOT NULL,
	"settings" jsonb NOT NULL,
	"search" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('simple', translate(left(coalesce("name", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'A') || setweight(to_tsvector('simple', translate(left(coalesce("description", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'B')) STORED
);

CREATE TABLE "epics" (
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
	"status" text NOT NULL,
	"priority" text NOT NULL,
	"position" double precision NOT NULL,
	"search" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('simple', translate(left(coalesce("title", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'A') || setweight(to_tsvector('simple', translate(left(coalesce("description", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'B')) STORED
);

CREATE TABLE "stories" (
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
	"status" text NOT NULL,
	"priority" text NOT NULL,
	"position" double precision NOT NULL,
	"search" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('simple', translate(left(coalesce("title", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'A') || setweight(to_tsvector('simple', translate(left(coalesce("description", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'B')) STORED,
	"epic_id" uuid NOT NULL,
	"points" integer
);

CREATE TABLE "task_dependencies" (
	"task_id" uuid NOT NULL,
	"blocked_by_id" uuid NOT NULL,
	"kind" text DEFAULT 'blocks' NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "task_dependencies_task_id_blocked_by_id_kind_pk" PRIMARY KEY("task_id","blocked_by_id","kind")
);

CREATE TABLE "tasks" (
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
	"status" text NOT NULL,
	"priority" text NOT NULL,
	"position" double precision NOT NULL,
	"search" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('simple', translate(left(coalesce("title", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'A') || setweight(to_tsvector('simple', translate(left(coalesce("description", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'B')) STORED,
	"story_id" uuid,
	"number" integer NOT NULL,
	"labels" text[] NOT NULL,
	"estimate" integer,
	"acceptance" jsonb NOT NULL,
	"due_at" timestamp(3) with time zone
);

CREATE TABLE "jobs" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"key" text,
	"data" jsonb NOT NULL,
	"state" text NOT NULL,
	"attempt" integer NOT NULL,
	"run_at" timestamp(3) with time zone NOT NULL,
	"lease" text,
	"error" text,
	"created_at" timestamp(3) with time zone NOT NULL
);

ALTER TABLE "login_sessions" ADD CONSTRAINT "login_sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "refresh_tokens" ADD CONSTRAINT "refresh_tokens_session_id_login_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."login_sessions"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "mcp_tokens" ADD CONSTRAINT "mcp_tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "mcp_tokens" ADD CONSTRAINT "mcp_tokens_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "organizations" ADD CONSTRAINT "organizations_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "notes" ADD CONSTRAINT "notes_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "notes" ADD CONSTRAINT "notes_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "notes" ADD CONSTRAINT "notes_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "projects" ADD CONSTRAINT "projects_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "projects" ADD CONSTRAINT "projects_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "epics" ADD CONSTRAINT "epics_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "epics" ADD CONSTRAINT "epics_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "epics" ADD CONSTRAINT "epics_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "stories" ADD CONSTRAINT "stories_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "stories" ADD CONSTRAINT "stories_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "stories" ADD CONSTRAINT "stories_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "stories" ADD CONSTRAINT "stories_epic_id_epics_id_fk" FOREIGN KEY ("epic_id") REFERENCES "public"."epics"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "task_dependencies" ADD CONSTRAINT "task_dependencies_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "task_dependencies" ADD CONSTRAINT "task_dependencies_blocked_by_id_tasks_id_fk" FOREIGN KEY ("blocked_by_id") REFERENCES "public"."tasks"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_story_id_stories_id_fk" FOREIGN KEY ("story_id") REFERENCES "public"."stories"("id") ON DELETE cascade ON UPDATE no action;
CREATE INDEX "events_organization" ON "events" USING btree ("organization_id","seq") WHERE "events"."organization_id" is not null;
CREATE INDEX "events_project" ON "events" USING btree ("project_id","seq") WHERE "events"."project_id" is not null;
CREATE INDEX "events_user" ON "events" USING btree ("user_id","seq") WHERE "events"."user_id" is not null;
CREATE INDEX "events_subject" ON "events" USING btree ("subject_id","seq");
CREATE INDEX "events_at" ON "events" USING brin ("at");
CREATE INDEX "events_xid" ON "events" USING brin ("xid");
CREATE INDEX "idempotency_keys_expires" ON "idempotency_keys" USING btree ("expires_at");
CREATE INDEX "login_sessions_user" ON "login_sessions" USING btree ("user_id");
CREATE INDEX "refresh_tokens_session" ON "refresh_tokens" USING btree ("session_id");
CREATE UNIQUE INDEX "users_email" ON "users" USING btree (lower("email"));
CREATE UNIQUE INDEX "users_handle" ON "users" USING btree (lower("handle"));
CREATE UNIQUE INDEX "api_keys_hash" ON "api_keys" USING btree ("hash");
CREATE INDEX "api_keys_user" ON "api_keys" USING btree ("user_id");
CREATE UNIQUE INDEX "mcp_tokens_hash" ON "mcp_tokens" USING btree ("hash");
CREATE INDEX "mcp_tokens_user" ON "mcp_tokens" USING btree ("user_id");
CREATE INDEX "memberships_user" ON "memberships" USING btree ("user_id");
CREATE UNIQUE INDEX "organizations_slug" ON "organizations" USING btree ("slug") WHERE "organizations"."deleted_at" is null;
CREATE UNIQUE INDEX "organizations_sandbox" ON "organizations" USING btree ("sandbox_of") WHERE "organizations"."deleted_at" is null;
CREATE UNIQUE INDEX "notes_slug" ON "notes" USING btree ("slug") WHERE "notes"."deleted_at" is null;
CREATE INDEX "notes_organization" ON "notes" USING btree ("organization_id","updated_at","id");
CREATE INDEX "notes_personal" ON "notes" USING btree ("created_by_id","updated_at","id") WHERE "notes"."organization_id" is null;
CREATE INDEX "notes_project" ON "notes" USING btree ("project_id");
CREATE INDEX "notes_tags" ON "notes" USING gin ("tags");
CREATE INDEX "notes_mentions" ON "notes" USING gin ("mentions");
CREATE INDEX "notes_search" ON "notes" USING gin ("search");
CREATE UNIQUE INDEX "projects_slug" ON "projects" USING btree ("organization_id","slug") WHERE "projects"."deleted_at" is null;
CREATE UNIQUE INDEX "projects_key" ON "projects" USING btree ("organization_id","key") WHERE "projects"."deleted_at" is null;
CREATE INDEX "projects_updated" ON "projects" USING btree ("organization_id","updated_at","id");
CREATE INDEX "projects_search" ON "projects" USING gin ("search");
CREATE INDEX "epics_project" ON "epics" USING btree ("project_id","position");
CREATE INDEX "epics_search" ON "epics" USING gin ("search");
CREATE INDEX "stories_project" ON "stories" USING btree ("project_id","position");
CREATE INDEX "stories_epic" ON "stories" USING btree ("epic_id");
CREATE INDEX "stories_search" ON "stories" USING gin ("search");
CREATE INDEX "task_dependencies_blocker" ON "task_dependencies" USING btree ("blocked_by_id");
CREATE UNIQUE INDEX "tasks_number" ON "tasks" USING btree ("project_id","number");
CREATE INDEX "tasks_project" ON "tasks" USING btree ("project_id","status","position");
CREATE INDEX "tasks_story" ON "tasks" USING btree ("story_id");
CREATE INDEX "tasks_search" ON "tasks" USING gin ("search");
CREATE UNIQUE INDEX "jobs_key" ON "jobs" USING btree ("name","key") WHERE "jobs"."state" = 'waiting' and "jobs"."key" is not null;
CREATE INDEX "jobs_run_at" ON "jobs" USING btree ("run_at") WHERE "jobs"."state" <> 'failed';
