CREATE TABLE "event_days" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"day" date NOT NULL,
	"organization_id" uuid NOT NULL,
	"project_id" uuid,
	"user_id" uuid,
	"type" text NOT NULL,
	"action" text NOT NULL,
	"actor_kind" text NOT NULL,
	"actor_id" uuid,
	"credential_id" uuid,
	"data" jsonb NOT NULL,
	"n" integer NOT NULL
);

CREATE INDEX "event_days_organization" ON "event_days" USING btree ("organization_id","day");
