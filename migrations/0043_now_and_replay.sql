CREATE TABLE "call_minutes" (
	"credential_id" uuid NOT NULL,
	"connection" text NOT NULL,
	"minute" timestamp(3) with time zone NOT NULL,
	"calls" integer NOT NULL,
	CONSTRAINT "call_minutes_credential_id_connection_minute_pk" PRIMARY KEY("credential_id","connection","minute")
);

CREATE TABLE "task_evidence" (
	"id" uuid PRIMARY KEY NOT NULL,
	"task_id" uuid NOT NULL,
	"level" text NOT NULL,
	"evidence" jsonb NOT NULL,
	"actor_type" text NOT NULL,
	"actor_id" uuid,
	"actor_name" text NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL
);

ALTER TABLE "events" ADD COLUMN "session_id" uuid;
ALTER TABLE "tasks" ADD COLUMN "lease_why" text;
ALTER TABLE "task_evidence" ADD CONSTRAINT "task_evidence_task_id_tasks_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."tasks"("id") ON DELETE cascade ON UPDATE no action;
CREATE INDEX "call_minutes_minute" ON "call_minutes" USING btree ("minute");
CREATE INDEX "task_evidence_task" ON "task_evidence" USING btree ("task_id","created_at");
CREATE INDEX "events_session" ON "events" USING btree ("session_id","seq") WHERE "events"."session_id" is not null;
CREATE INDEX "sessions_active" ON "sessions" USING btree ("credential_id") WHERE "sessions"."status" = 'active';
