-- expand
CREATE TABLE "change_items" (
	"change_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"task_id" uuid NOT NULL,
	"before" jsonb NOT NULL,
	"after" jsonb NOT NULL,
	"freed" boolean NOT NULL,
	"outcome" jsonb,
	"created_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "change_items_change_id_id_pk" PRIMARY KEY("change_id","id")
);

CREATE TABLE "changes" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"credential_id" uuid NOT NULL,
	"label" text NOT NULL,
	"state" text NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	"undone_at" timestamp(3) with time zone
);

CREATE INDEX "changes_user" ON "changes" USING btree ("user_id","created_at","id");
