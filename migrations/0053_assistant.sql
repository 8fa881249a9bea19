CREATE TABLE "ai_messages" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"session_id" uuid NOT NULL,
	"role" text NOT NULL,
	"content" text NOT NULL,
	"status" text NOT NULL,
	"sources" jsonb NOT NULL,
	"citations" jsonb NOT NULL,
	"proposals" jsonb NOT NULL,
	"usage" jsonb,
	"model" text,
	"error" text
);

CREATE TABLE "ai_sessions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"user_id" uuid NOT NULL,
	"organization_id" uuid,
	"project_id" uuid,
	"repository_id" uuid,
	"title" text
);

CREATE TABLE "ai_usage" (
	"user_id" uuid NOT NULL,
	"day" date NOT NULL,
	"answers" integer NOT NULL,
	"tokens" integer NOT NULL,
	CONSTRAINT "ai_usage_user_id_day_pk" PRIMARY KEY("user_id","day")
);

ALTER TABLE "ai_messages" ADD CONSTRAINT "ai_messages_session_id_ai_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."ai_sessions"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "ai_sessions" ADD CONSTRAINT "ai_sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "ai_sessions" ADD CONSTRAINT "ai_sessions_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "ai_sessions" ADD CONSTRAINT "ai_sessions_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "ai_sessions" ADD CONSTRAINT "ai_sessions_repository_id_repositories_id_fk" FOREIGN KEY ("repository_id") REFERENCES "public"."repositories"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "ai_usage" ADD CONSTRAINT "ai_usage_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
CREATE INDEX "ai_messages_session" ON "ai_messages" USING btree ("session_id","created_at","id");
CREATE INDEX "ai_sessions_user" ON "ai_sessions" USING btree ("user_id","updated_at","id");
CREATE INDEX "ai_sessions_organization" ON "ai_sessions" USING btree ("organization_id");
CREATE INDEX "ai_sessions_project" ON "ai_sessions" USING btree ("project_id");
CREATE INDEX "ai_sessions_repository" ON "ai_sessions" USING btree ("repository_id");
CREATE INDEX "ai_usage_day" ON "ai_usage" USING btree ("day");
