CREATE TABLE "sync_conflicts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"user_id" uuid NOT NULL,
	"device_id" uuid NOT NULL,
	"device_name" text NOT NULL,
	"mutation_id" uuid NOT NULL,
	"entity" text NOT NULL,
	"record_id" uuid NOT NULL,
	"container" text NOT NULL,
	"kind" text NOT NULL,
	"field" text,
	"values" jsonb NOT NULL,
	"resolved_at" timestamp(3) with time zone,
	"resolved_by_id" uuid,
	"choice" text
);

CREATE TABLE "sync_cursors" (
	"id" uuid PRIMARY KEY NOT NULL,
	"device_id" uuid NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"position" text NOT NULL,
	"held" jsonb NOT NULL,
	"reading" jsonb,
	"entities" jsonb NOT NULL
);

CREATE TABLE "sync_devices" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"name" text NOT NULL,
	"platform" text NOT NULL,
	"schema" text NOT NULL,
	"only" jsonb,
	"public_key" text,
	"credential_kind" text NOT NULL,
	"credential_id" uuid,
	"created_at" timestamp(3) with time zone NOT NULL,
	"last_seen_at" timestamp(3) with time zone NOT NULL,
	"last_pull_at" timestamp(3) with time zone,
	"last_push_at" timestamp(3) with time zone,
	"last_check_at" timestamp(3) with time zone
);

CREATE TABLE "sync_receipts" (
	"device_id" uuid NOT NULL,
	"mutation_id" uuid NOT NULL,
	"at" timestamp(3) with time zone NOT NULL,
	"status" text NOT NULL,
	"conflicts" jsonb,
	"code" text,
	"detail" text,
	"key" text,
	CONSTRAINT "sync_receipts_device_id_mutation_id_pk" PRIMARY KEY("device_id","mutation_id")
);

ALTER TABLE "sync_conflicts" ADD CONSTRAINT "sync_conflicts_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "sync_cursors" ADD CONSTRAINT "sync_cursors_device_id_sync_devices_id_fk" FOREIGN KEY ("device_id") REFERENCES "public"."sync_devices"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "sync_devices" ADD CONSTRAINT "sync_devices_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "sync_receipts" ADD CONSTRAINT "sync_receipts_device_id_sync_devices_id_fk" FOREIGN KEY ("device_id") REFERENCES "public"."sync_devices"("id") ON DELETE cascade ON UPDATE no action;
CREATE INDEX "sync_conflicts_user" ON "sync_conflicts" USING btree ("user_id","created_at","id");
CREATE INDEX "sync_conflicts_container" ON "sync_conflicts" USING btree ("container","created_at","id");
CREATE INDEX "sync_cursors_device" ON "sync_cursors" USING btree ("device_id","created_at");
CREATE INDEX "sync_devices_user" ON "sync_devices" USING btree ("user_id");
CREATE INDEX "sync_devices_credential" ON "sync_devices" USING btree ("credential_id");
CREATE INDEX "sync_receipts_at" ON "sync_receipts" USING btree ("at");
