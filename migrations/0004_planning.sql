CREATE TABLE "task_comments" (
	"id" uuid PRIMARY KEY NOT NULL,
	"task_id" uuid NOT NULL,
	"author_type" text NOT NULL,
	"author_id" uuid,
	"author_name" text NOT NULL,
	"body" text NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL
);

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
ALTER TABLE "task_comments" ADD CONSTRAINT "task_comments_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE cascade ON UPDATE no action;
CREATE INDEX "task_comments_task" ON "task_comments" USING btree ("task_id","created_at","id");
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_parent_id_tasks_id_fk" FOREIGN KEY ("parent_id") REFERENCES "public"."tasks"("id") ON DELETE set null ON UPDATE no action;
CREATE INDEX "tasks_organization" ON "tasks" USING btree ("organization_id","updated_at","id");
CREATE INDEX "tasks_assignee" ON "tasks" USING btree ("assignee_id","status") WHERE "tasks"."assignee_id" is not null;
CREATE INDEX "tasks_lease" ON "tasks" USING btree ("lease_holder_id") WHERE "tasks"."lease_holder_id" is not null;
CREATE INDEX "tasks_parent" ON "tasks" USING btree ("parent_id") WHERE "tasks"."parent_id" is not null;
