CREATE TABLE "memories" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"organization_id" uuid NOT NULL,
	"created_by_id" uuid,
	"author_type" text NOT NULL,
	"author_id" uuid,
	"author_name" text NOT NULL,
	"scope" text NOT NULL,
	"scope_id" uuid NOT NULL,
	"project_id" uuid,
	"title" text,
	"content" text NOT NULL,
	"tags" text[] NOT NULL,
	"source" text,
	"importance" real NOT NULL,
	"expires_at" timestamp(3) with time zone,
	"supersedes" uuid,
	"superseded_by_id" uuid
);

CREATE TABLE "decision_comments" (
	"id" uuid PRIMARY KEY NOT NULL,
	"decision_id" uuid NOT NULL,
	"author_type" text NOT NULL,
	"author_id" uuid,
	"author_name" text NOT NULL,
	"body" text NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL
);

CREATE TABLE "decisions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"organization_id" uuid NOT NULL,
	"project_id" uuid,
	"created_by_id" uuid,
	"author_type" text NOT NULL,
	"author_id" uuid,
	"author_name" text NOT NULL,
	"title" text NOT NULL,
	"context" text,
	"decision" text NOT NULL,
	"rationale" text,
	"alternatives" jsonb NOT NULL,
	"status" text NOT NULL,
	"outcome" text,
	"tags" text[] NOT NULL,
	"supersedes" uuid,
	"superseded_by_id" uuid,
	"search" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('simple', translate(left(coalesce("title", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'A') || setweight(to_tsvector('simple', translate(left(coalesce("decision", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'B') || setweight(to_tsvector('simple', translate(left(coalesce("context", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'C') || setweight(to_tsvector('simple', translate(left(coalesce("rationale", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'D')) STORED
);

CREATE TABLE "links" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"created_by_id" uuid,
	"created_at" timestamp(3) with time zone NOT NULL,
	"from_type" text NOT NULL,
	"from_id" uuid NOT NULL,
	"to_type" text NOT NULL,
	"to_id" uuid NOT NULL,
	"kind" text NOT NULL
);

CREATE TABLE "sessions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"organization_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"agent_id" uuid,
	"project_id" uuid,
	"task_id" uuid,
	"status" text NOT NULL,
	"goals" text[] NOT NULL,
	"context" text,
	"checkpoint" jsonb,
	"checkpoint_at" timestamp(3) with time zone,
	"summary" text,
	"started_at" timestamp(3) with time zone NOT NULL,
	"ended_at" timestamp(3) with time zone,
	"seen_seq" bigint NOT NULL
);

CREATE TABLE "passage_vectors" (
	"passage_id" uuid NOT NULL,
	"model" text NOT NULL,
	"vector" vector NOT NULL,
	CONSTRAINT "passage_vectors_passage_id_model_pk" PRIMARY KEY("passage_id","model")
);

CREATE TABLE "passages" (
	"id" uuid PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"record_id" uuid NOT NULL,
	"organization_id" uuid,
	"user_id" uuid,
	"project_id" uuid,
	"scope" text,
	"scope_id" uuid,
	"chunk" integer NOT NULL,
	"title" text NOT NULL,
	"content" text NOT NULL,
	"tags" text[] NOT NULL,
	"importance" real NOT NULL,
	"at" timestamp(3) with time zone NOT NULL,
	"expires_at" timestamp(3) with time zone,
	"search" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('english', translate(left(coalesce("title", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'A') || setweight(to_tsvector('english', translate(left(coalesce("content", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'B')) STORED
);

CREATE TABLE "spec_versions" (
	"spec_id" uuid NOT NULL,
	"version" integer NOT NULL,
	"title" text NOT NULL,
	"content" text NOT NULL,
	"status" text NOT NULL,
	"message" text,
	"author_type" text NOT NULL,
	"author_id" uuid,
	"author_name" text NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "spec_versions_spec_id_version_pk" PRIMARY KEY("spec_id","version")
);

CREATE TABLE "specs" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"organization_id" uuid NOT NULL,
	"project_id" uuid NOT NULL,
	"created_by_id" uuid,
	"title" text NOT NULL,
	"slug" text NOT NULL,
	"content" text NOT NULL,
	"status" text NOT NULL,
	"search" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('simple', translate(left(coalesce("title", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'A') || setweight(to_tsvector('simple', translate(left(coalesce("content", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'B')) STORED
);

CREATE TABLE "task_comments" (
	"id" uuid PRIMARY KEY NOT NULL,
	"task_id" uuid NOT NULL,
	"author_type" text NOT NULL,
	"author_id" uuid,
	"author_name" text NOT NULL,
	"body" text NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL
);

DROP INDEX "tasks_organization";
ALTER TABLE "mcp_tokens" ADD COLUMN "agent_id" uuid;
ALTER TABLE "tasks" ADD COLUMN "parent_id" uuid;
ALTER TABLE "tasks" ADD COLUMN "assignee_type" text;
ALTER TABLE "tasks" ADD COLUMN "assignee_id" uuid;
ALTER TABLE "tasks" ADD COLUMN "completion_notes" text;
ALTER TABLE "tasks" ADD COLUMN "started_at" timestamp(3) with time zone;
ALTER TABLE "tasks" ADD COLUMN "completed_at" timestamp(3) with time zone;
ALTER TABLE "tasks" ADD COLUMN "lease_type" text;
ALTER TABLE "tasks" ADD COLUMN "lease_holder_id" uuid;
ALTER TABLE "tasks" ADD COLUMN "lease_session_id" uuid;
ALTER TABLE "tasks" ADD COLUMN "lease_since" timestamp(3) with time zone;
ALTER TABLE "tasks" ADD COLUMN "lease_seen_at" timestamp(3) with time zone;
ALTER TABLE "tasks" ADD COLUMN "lease_expires_at" timestamp(3) with time zone;
ALTER TABLE "memories" ADD CONSTRAINT "memories_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "memories" ADD CONSTRAINT "memories_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "memories" ADD CONSTRAINT "memories_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "decision_comments" ADD CONSTRAINT "decision_comments_decision_id_decisions_id_fk" FOREIGN KEY ("decision_id") REFERENCES "public"."decisions"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "decisions" ADD CONSTRAINT "decisions_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "decisions" ADD CONSTRAINT "decisions_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "decisions" ADD CONSTRAINT "decisions_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "links" ADD CONSTRAINT "links_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "links" ADD CONSTRAINT "links_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_agent_id_agents_id_fk" FOREIGN KEY ("agent_id") REFERENCES "public"."agents"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "passage_vectors" ADD CONSTRAINT "passage_vectors_passage_id_passages_id_fk" FOREIGN KEY ("passage_id") REFERENCES "public"."passages"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "passages" ADD CONSTRAINT "passages_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "passages" ADD CONSTRAINT "passages_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "passages" ADD CONSTRAINT "passages_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "spec_versions" ADD CONSTRAINT "spec_versions_spec_id_specs_id_fk" FOREIGN KEY ("spec_id") REFERENCES "public"."specs"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "specs" ADD CONSTRAINT "specs_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "specs" ADD CONSTRAINT "specs_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "specs" ADD CONSTRAINT "specs_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "task_comments" ADD CONSTRAINT "task_comments_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE cascade ON UPDATE no action;
CREATE INDEX "memories_organization" ON "memories" USING btree ("organization_id","updated_at","id");
CREATE INDEX "memories_scope" ON "memories" USING btree ("scope","scope_id","updated_at");
CREATE INDEX "memories_project" ON "memories" USING btree ("project_id");
CREATE INDEX "decision_comments_decision" ON "decision_comments" USING btree ("decision_id","created_at","id");
CREATE INDEX "decisions_organization" ON "decisions" USING btree ("organization_id","updated_at","id");
CREATE INDEX "decisions_project" ON "decisions" USING btree ("project_id","updated_at");
CREATE INDEX "decisions_search" ON "decisions" USING gin ("search");
CREATE UNIQUE INDEX "links_pair" ON "links" USING btree ("from_id","to_id","kind");
CREATE INDEX "links_to" ON "links" USING btree ("to_id");
CREATE INDEX "sessions_user" ON "sessions" USING btree ("user_id","organization_id","updated_at","id");
CREATE INDEX "sessions_agent" ON "sessions" USING btree ("agent_id","updated_at");
CREATE INDEX "sessions_project" ON "sessions" USING btree ("project_id");
CREATE UNIQUE INDEX "passages_record" ON "passages" USING btree ("kind","record_id","chunk");
CREATE INDEX "passages_organization" ON "passages" USING btree ("organization_id","kind");
CREATE INDEX "passages_user" ON "passages" USING btree ("user_id");
CREATE INDEX "passages_project" ON "passages" USING btree ("project_id");
CREATE INDEX "passages_search" ON "passages" USING gin ("search");
CREATE UNIQUE INDEX "specs_slug" ON "specs" USING btree ("project_id","slug") WHERE "specs"."deleted_at" is null;
CREATE INDEX "specs_organization" ON "specs" USING btree ("organization_id","updated_at","id");
CREATE INDEX "specs_project" ON "specs" USING btree ("project_id","updated_at");
CREATE INDEX "specs_search" ON "specs" USING gin ("search");
CREATE INDEX "task_comments_task" ON "task_comments" USING btree ("task_id","created_at","id");
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_parent_id_tasks_id_fk" FOREIGN KEY ("parent_id") REFERENCES "public"."tasks"("id") ON DELETE set null ON UPDATE no action;
CREATE INDEX "tasks_assignee" ON "tasks" USING btree ("assignee_id","status") WHERE "tasks"."assignee_id" is not null;
CREATE INDEX "tasks_lease" ON "tasks" USING btree ("lease_holder_id") WHERE "tasks"."lease_holder_id" is not null;
CREATE INDEX "tasks_parent" ON "tasks" USING btree ("parent_id") WHERE "tasks"."parent_id" is not null;
CREATE INDEX "tasks_organization" ON "tasks" USING btree ("organization_id","updated_at","id");
