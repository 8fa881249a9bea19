CREATE TABLE "imported_records" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" uuid NOT NULL,
	"entity" text NOT NULL,
	"base" jsonb NOT NULL,
	"imported_at" timestamp(3) with time zone NOT NULL
);

ALTER TABLE "sync_devices" ADD COLUMN "carried" integer DEFAULT 0 NOT NULL;
ALTER TABLE "sync_devices" ADD COLUMN "carried_hash" text;
ALTER TABLE "imported_records" ADD CONSTRAINT "imported_records_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
