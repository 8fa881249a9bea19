-- expand
CREATE TABLE "tunnel_former_slugs" (
	"id" uuid PRIMARY KEY NOT NULL,
	"slug" text NOT NULL,
	"owner_id" uuid NOT NULL,
	"left_at" timestamp(3) with time zone NOT NULL
);

ALTER TABLE "tunnel_former_slugs" ADD CONSTRAINT "tunnel_former_slugs_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
CREATE INDEX "tunnel_former_slugs_slug" ON "tunnel_former_slugs" USING btree ("slug");
CREATE INDEX "tunnel_former_slugs_owner" ON "tunnel_former_slugs" USING btree ("owner_id");
