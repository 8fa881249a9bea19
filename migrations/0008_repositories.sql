CREATE TABLE "pull_requests" (
	"id" uuid PRIMARY KEY NOT NULL,
	"repository_id" uuid NOT NULL,
	"feature_id" uuid,
	"created_by_id" uuid,
	"created_at" timestamp(3) with time zone NOT NULL,
	"number" integer NOT NULL,
	"url" text NOT NULL,
	"title" text NOT NULL,
	"head" text NOT NULL,
	"base" text NOT NULL
);

CREATE TABLE "repositories" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"organization_id" uuid NOT NULL,
	"project_id" uuid,
	"created_by_id" uuid,
	"provider" text NOT NULL,
	"host" text NOT NULL,
	"owner" text NOT NULL,
	"name" text NOT NULL,
	"url" text NOT NULL,
	"key" text NOT NULL,
	"private" boolean DEFAULT false NOT NULL,
	"default_branch" text,
	"branches" text[] NOT NULL,
	"commit_sha" text,
	"last_commit" jsonb,
	"language" text,
	"topics" text[] NOT NULL,
	"pulls" jsonb NOT NULL,
	"status" text NOT NULL,
	"synced_at" timestamp(3) with time zone,
	"error" text
);

ALTER TABLE "pull_requests" ADD CONSTRAINT "pull_requests_repository_id_repositories_id_fk" FOREIGN KEY ("repository_id") REFERENCES "public"."repositories"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "pull_requests" ADD CONSTRAINT "pull_requests_feature_id_features_id_fk" FOREIGN KEY ("feature_id") REFERENCES "public"."features"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "pull_requests" ADD CONSTRAINT "pull_requests_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
ALTER TABLE "repositories" ADD CONSTRAINT "repositories_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "repositories" ADD CONSTRAINT "repositories_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "repositories" ADD CONSTRAINT "repositories_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
CREATE UNIQUE INDEX "pull_requests_number" ON "pull_requests" USING btree ("repository_id","number");
CREATE INDEX "pull_requests_feature" ON "pull_requests" USING btree ("feature_id");
CREATE UNIQUE INDEX "repositories_project" ON "repositories" USING btree ("project_id","key") WHERE "repositories"."deleted_at" is null and "repositories"."project_id" is not null;
CREATE UNIQUE INDEX "repositories_team" ON "repositories" USING btree ("organization_id","key") WHERE "repositories"."deleted_at" is null and "repositories"."project_id" is null;
CREATE INDEX "repositories_organization" ON "repositories" USING btree ("organization_id","updated_at","id");
